import { describe, expect, it } from 'vitest';

import { displayWidth, safeLine, safeNotation, safeText, wrap } from '../../src/cli/terminal.js';

describe('text from the database', () => {
  it.each([
    ['an escape sequence', '\u001b[2Jgone', '\\u{1B}[2Jgone'],
    ['a C1 control', 'a\u009b31mb', 'a\\u{9B}31mb'],
    ['a NUL', 'a\u0000b', 'a\\u{0}b'],
    ['a backspace', 'DROP\b\b\b\bread', 'DROP\\u{8}\\u{8}\\u{8}\\u{8}read'],
    ['a carriage return', 'harmless\rreal', 'harmless\\u{D}real'],
    ['a bidirectional override', 'abc\u202edef', 'abc\\u{202E}def'],
    ['a bidirectional isolate', 'a\u2066b\u2069', 'a\\u{2066}b\\u{2069}'],
    ['an Arabic letter mark', 'a\u061cb', 'a\\u{61C}b'],
    ['a zero-width space', 'us\u200bers', 'us\\u{200B}ers'],
    ['a zero-width joiner', 'a\u200db', 'a\\u{200D}b'],
    ['a byte order mark', '\ufeffa', '\\u{FEFF}a'],
    ['a soft hyphen', 'a\u00adb', 'a\\u{AD}b'],
    ['a no-break space', 'a\u00a0b', 'a\\u{A0}b'],
    ['an ideographic space', 'a\u3000b', 'a\\u{3000}b'],
    ['a Hangul filler', 'a\u3164b', 'a\\u{3164}b'],
    ['a blank Braille pattern', 'a\u2800b', 'a\\u{2800}b'],
    ['a variation selector', 'a\ufe0fb', 'a\\u{FE0F}b'],
    ['a tag character beyond the basic plane', 'a\u{e0041}b', 'a\\u{E0041}b'],
    ['a private-use glyph', 'a\ue000b', 'a\\u{E000}b'],
    ['a line separator', 'a\u2028b', 'a\\u{2028}b'],
    ['half of a surrogate pair', 'a\ud800b', 'a\\u{D800}b'],
    ['a line break', 'a\nb', 'a\\u{A}b'],
    ['an imitation of this notation', 'a\\u{202E}b', 'a\\u{5C}u{202E}b'],
  ])('shows %s instead of sending it', (_, text, shown) => {
    expect(safeLine(text)).toBe(shown);
  });

  it.each(['plain ASCII: select * from "Order" where x ~ \'\\d+\\.\\w\' -- ok', 'Zoë Ångström', '東京', 'Ελλάδα', 'Привет', 'שלום', '👍'])(
    'leaves honest text alone: %s', (text) => {
      expect(safeLine(text)).toBe(text);
    });

  it('keeps line breaks where a text may have several lines, and turns tabs into spaces', () => {
    expect(safeText('a\n\tb\u001b')).toBe('a\n    b\\u{1B}');
  });

  it('keeps notation the database wrote, and still shows what it left', () => {
    expect(safeNotation('a\\u{202E}b\u001bc')).toBe('a\\u{202E}b\\u{1B}c');
  });
});

describe('wrapping', () => {
  it('breaks at spaces and keeps the text\'s own line breaks', () => {
    expect(wrap('delete from orders\nwhere id = 1', 10)).toEqual(['delete', 'from', 'orders', 'where id =', '1']);
  });

  it('breaks a long word where it must', () => {
    expect(wrap('a'.repeat(25), 10)).toEqual(['aaaaaaaaaa', 'aaaaaaaaaa', 'aaaaa']);
  });

  it('counts wide characters as two columns and combining ones as none', () => {
    expect(displayWidth('東京')).toBe(4);
    expect(displayWidth('e\u0301')).toBe(1);
    expect(wrap('東京東京東京', 5)).toEqual(['東京', '東京', '東京']);
  });

  it('ends even where nothing fits', () => {
    expect(wrap('東京', 1)).toEqual(['東', '京']);
  });
});
