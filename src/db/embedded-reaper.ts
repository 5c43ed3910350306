/**
 * Stops an embedded server that nobody uses any more, whatever way its users ended (kill -9 included).
 *
 * A small shell loop, because it must survive us and cost nothing: it looks at the users' notes every two
 * seconds and ends with the server. Where there is no shell (Windows) a killed last user leaves the
 * server running; the next start finds and shares it.
 */
import { spawn } from 'node:child_process';
import type { Folders } from './embedded-folders.js';

const SCRIPT = `
server=$1 users=$2 lock=$3
running() {
  kill -0 "$1" 2>/dev/null || [ -d "/proc/$1" ] || return 1
  case "$(cat "/proc/$1/status" 2>/dev/null)" in *"(zombie)"*) return 1;; esac
}
used() {
  [ -d "$users" ] || return 1
  for note in "$users"/*; do
    [ -f "$note" ] || continue
    pid=\${note##*/}
    running "\${pid%%.*}" && return 0
  done
  return 1
}
while sleep 2; do
  running "$server" || exit 0
  used && continue
  # The lock keeps a newcomer out while we decide; without its folder there are no newcomers.
  if [ -d "$users" ] && ! (set -C; echo "$$" > "$lock") 2>/dev/null; then
    # A lock without a name in it is somebody's in this very moment, or left behind by a crash: a second look tells.
    holder=; read -r holder rest < "$lock" 2>/dev/null
    [ -n "$holder" ] || { sleep 2; read -r holder rest < "$lock" 2>/dev/null; }
    [ -n "$holder" ] && running "$holder" || rm -f "$lock"
    continue
  fi
  if ! used; then
    kill -INT "$server" 2>/dev/null
    tries=0
    while running "$server" && [ $tries -lt 300 ]; do tries=$((tries + 1)); sleep 0.1 2>/dev/null || sleep 1; done
  fi
  rm -f "$lock"
done
`;

/** Starts the watcher for a server that was just started. */
export function startReaper(pid: number, folders: Folders): void {
  if (process.platform === 'win32') return;
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'countersign-reaper', String(pid), folders.users, folders.lock], {
    detached: true, stdio: 'ignore', cwd: '/', env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin' },
  });
  // Without a shell the server merely outlives a killed user.
  child.once('error', () => undefined);
  child.unref();
}
