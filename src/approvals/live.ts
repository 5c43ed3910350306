/** Live events: one stream a browser (its tabs share it), a few at most, ended when the reader does not keep up. */
import { HttpRefusal, type StreamSink, type WebResponse } from './http.js';
import type { ApprovalStore, StoreChange } from './store.js';

const MOST_STREAMS = 8;
const HEARTBEAT_MS = 15_000;
/** Then the browser connects anew: a stream whose reader is gone without a word does not stay for ever. */
const LIFE_MS = 30 * 60_000;

export interface LiveHub {
  /** A response that goes on, telling of every change in the store. @throws HttpRefusal when there are too many. */
  open(store: ApprovalStore, stillValid: () => boolean): WebResponse;
  readonly count: number;
  close(): void;
}

function eventText({ plan, status }: StoreChange): string {
  return `event: change\ndata: ${JSON.stringify({ plan, status })}\n\n`;
}

export function createLiveHub(most: number = MOST_STREAMS): LiveHub {
  const sinks = new Set<StreamSink>();

  function start(sink: StreamSink, store: ApprovalStore, stillValid: () => boolean): void {
    const write = (text: string): void => { if (!stillValid() || !sink.write(text)) sink.end(); };
    const stop = store.watch((change) => write(eventText(change)));
    const heartbeat = setInterval(() => write(': still here\n\n'), HEARTBEAT_MS);
    const end = setTimeout(() => sink.end(), LIFE_MS);
    sink.onClosed(() => {
      sinks.delete(sink);
      stop();
      clearInterval(heartbeat);
      clearTimeout(end);
    });
    write('retry: 1000\nevent: open\ndata: {}\n\n');
  }

  return {
    get count() { return sinks.size; },
    open(store, stillValid) {
      if (sinks.size >= most) throw new HttpRefusal('TOO_MANY_REQUESTS', `There are ${most} live streams already.`, 'Close a window that is not needed, or read again now and then.');
      return {
        status: 200,
        headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
        body: '',
        stream(sink) {
          // Counted here: a request that is gone before its answer must not hold a place.
          if (sinks.size >= most) return sink.end();
          sinks.add(sink);
          start(sink, store, stillValid);
        },
      };
    },
    close() {
      for (const sink of [...sinks]) sink.end();
    },
  };
}
