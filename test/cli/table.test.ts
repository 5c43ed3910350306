import { describe, expect, it } from 'vitest';

import { effectsText, grouped, records } from '../../src/cli/records.js';
import { fields, shownFields, table } from '../../src/cli/table.js';
import { longestLine } from './fake-io.js';

describe('a table', () => {
  it('is aligned, counts to the right', () => {
    expect(table([{ title: 'table' }, { title: 'rows', align: 'right' }], [['orders', '320'], ['order_items', '512']])).toBe(
      'table        rows\n-----------  ----\norders        320\norder_items   512\n');
  });

  it('wraps long cells inside their column and is never wider than asked', () => {
    const text = table([{ title: 'key' }, { title: 'value', align: 'right' }, { title: 'meaning' }],
      [['approval_required_above_rows', '100', 'total rows changed in all tables; above it the plan waits for a human']], 80);
    expect(longestLine(text)).toBeLessThanOrEqual(80);
    expect(text.split('\n')).toEqual([
      'key                           value  meaning',
      '----------------------------  -----  -------------------------------------------',
      'approval_required_above_rows    100  total rows changed in all tables; above it',
      '                                     the plan waits for a human',
      '',
    ]);
  });

  it('cannot be broken by what is in a cell', () => {
    const text = table([{ title: 'a' }, { title: 'b' }], [['\u001b[31mred', 'x\u202e'.repeat(200)]], 80);
    expect(text).not.toMatch(/[\u001b\u202e]/);
    expect(longestLine(text)).toBeLessThanOrEqual(80);
  });

  it('stays within 80 columns with many long columns', () => {
    const columns = Array.from({ length: 7 }, (_, at) => ({ title: `column ${at}` }));
    const text = table(columns, [columns.map(() => 'some words that are long enough to wrap')], 80);
    expect(longestLine(text)).toBeLessThanOrEqual(80);
  });
});

describe('fields', () => {
  it('puts values beside their names and wraps them there', () => {
    expect(fields([['statement', 'delete from orders where status = \'cancelled\''], ['rows', '13200']], 40)).toBe(
      'statement  delete from orders where\n           status = \'cancelled\'\nrows       13200\n');
  });

  it('of the database\'s own layout keep its notation', () => {
    expect(shownFields([['reason', 'x\\u{202E}']])).toBe('reason  x\\u{202E}\n');
  });
});

describe('records', () => {
  it('show every column that has something in it', () => {
    const rows = [{ plan_token: 'abc', reason: 'clean up', note: null, effects: [{ table: 'public.orders', inserted: 0, updated: 0, deleted: 320, writable: true }] }];
    expect(records(rows, 80)).toBe('plan token  abc\nreason      clean up\neffects     public.orders: 320 deleted\n');
  });

  it('say when an effect leaves the allowlist', () => {
    expect(effectsText([{ table: 'public.audit', inserted: '12000', updated: 1, deleted: 0, writable: false }])).toBe(
      'public.audit: 12,000 inserted, 1 updated (not a table the agent may write)');
  });

  it('group thousands the same way everywhere', () => {
    expect([0, 999, 1000, 13200, '1234567'].map(grouped)).toEqual(['0', '999', '1,000', '13,200', '1,234,567']);
  });
});
