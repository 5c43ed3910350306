/** No case is lost: each id of the reference cases is played by a row, and what is not contained says so and why. */
import { expect, test } from 'vitest';
import { CATALOGS } from './catalogs.js';
import { CONDITIONS } from './conditions.js';
import { COSTS_AND_SIGNALS } from './costs.js';
import { EXECUTIONS } from './executions.js';
import { LIMITS } from './limits.js';
import { MIGRATIONS } from './migrations.js';
import { NOT_CONTAINED } from './not-contained.js';
import { PAYLOADS } from './payloads.js';
import { PLANS } from './plans.js';
import { READS } from './reads.js';
import { TOKENS } from './tokens.js';

/** Every case of every category but the web page and deceiving the human, which have tests of their own. */
const CASES: Readonly<Record<string, string>> = {
  A: '001 002 004 005 006 008 010 011 014 015 016 017 018 019 020 022 023 024 025 027 030 033 034',
  C: '001 004 005 006 007 008 011 012 013 014 015 016 018 020 021 022 023 024 025',
  R: '002 004 005 006 007 008 009 011 012 014 015 016 017 019 020 021 022 024 025 026 028 029 030 032 033 034 036 037 038 040 041 042 043 044 046 047 048 049 050 051 053 054',
  P: '001 003 004 009 010 011 013 014 015 016 017 018 019 021 023 024 025',
  W: '001 002 003 004 005 006 009 010 012 013 020 021 024 025 026 027 029 032 033 034 035 036 037 039 040 042 043 044 045 046 048 050 051 052 053 054 055 057 058 059 061 062 064 066 067 068 069',
  D: '001 002 005 006 007 008 011 013 014 015 017 018 019 020 021 022 023 024 025 026 027 029 031 034 036 037 039 040 042 043 044 045 046',
  T: '001 002 003 004 005 006 007 009 011 012 013 014 015 016 017 018 020 021 022 024',
  N: '002 004 005 006 007',
  X: '002 003 004 005 006 007 008 009 010 011 012',
  M: '001 002 004 005 006 007',
};

const all = Object.entries(CASES).flatMap(([letter, numbers]) => numbers.split(' ').map((number) => letter + number));
const rows = [...READS, ...CATALOGS, ...LIMITS, ...CONDITIONS, ...PLANS, ...EXECUTIONS, ...MIGRATIONS, ...TOKENS, ...PAYLOADS, ...COSTS_AND_SIGNALS];
const played = new Set(rows.flatMap((row) => row.ids));

test('every case is played by a row', () => {
  expect(all).toHaveLength(223);
  expect(all.filter((id) => !played.has(id))).toEqual([]);
  expect([...played].filter((id) => !all.includes(id))).toEqual([]);
});

test('what is not contained is a case that is known, and says what is left of it', () => {
  for (const [id, why] of Object.entries(NOT_CONTAINED)) {
    expect(all).toContain(id);
    expect(why.length).toBeGreaterThan(40);
  }
});
