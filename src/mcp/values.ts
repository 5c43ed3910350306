import { parseArrayLiteral, toArrayLiteral, type ArrayElement } from './array-literal.js';
import { survivesParsing } from './raw-json.js';

/** What is known of a column's type: its name as Postgres prints it, and what its arrays hold. */
export interface ColumnType {
  name: string;
  /** Set for arrays: the type of one element, and the sign between two. */
  element?: { oid: number; delimiter: string };
}

/** Type oids that never change (pg_type.dat), so that ordinary results need no look at the catalog. */
const SCALARS: readonly (readonly [oid: number, name: string, arrayOid: number, delimiter?: string])[] = [
  [16, 'boolean', 1000], [17, 'bytea', 1001], [18, '"char"', 1002], [19, 'name', 1003], [20, 'bigint', 1016],
  [21, 'smallint', 1005], [23, 'integer', 1007], [25, 'text', 1009], [26, 'oid', 1028], [114, 'json', 199],
  [142, 'xml', 143], [600, 'point', 1017], [603, 'box', 1020, ';'], [650, 'cidr', 651], [700, 'real', 1021],
  [701, 'double precision', 1022], [790, 'money', 791], [829, 'macaddr', 1040], [869, 'inet', 1041],
  [1042, 'character', 1014], [1043, 'character varying', 1015], [1082, 'date', 1182],
  [1083, 'time without time zone', 1183], [1114, 'timestamp without time zone', 1115],
  [1184, 'timestamp with time zone', 1185], [1186, 'interval', 1187], [1266, 'time with time zone', 1270],
  [1700, 'numeric', 1231], [2205, 'regclass', 2210], [2950, 'uuid', 2951], [3802, 'jsonb', 3807],
  [3904, 'int4range', 3905], [3906, 'numrange', 3907], [3908, 'tsrange', 3909], [3910, 'tstzrange', 3911],
  [3912, 'daterange', 3913], [3926, 'int8range', 3927],
];

const BUILT_IN = new Map<number, ColumnType>(
  SCALARS.flatMap(([oid, name, arrayOid, delimiter = ',']) => [
    [oid, { name }],
    [arrayOid, { name: `${name}[]`, element: { oid, delimiter } }],
  ]),
);

/** The type of a built-in oid, or undefined when the catalog has to be asked. */
export function builtInType(oid: number): ColumnType | undefined {
  return BUILT_IN.get(oid);
}

function floatValue(text: string): number | string {
  const value = Number(text);
  return Number.isFinite(value) ? value + 0 : text;
}

/** `2026-03-29 02:30:00+00` → `2026-03-29T02:30:00+00:00`; infinity and BC keep their own marks. */
function isoTimestamp(text: string): string {
  return text.replace(' ', 'T').replace(/([+-]\d\d)(?=$| BC)/, '$1:00');
}

function jsonValue(text: string): unknown {
  return survivesParsing(text) ? (JSON.parse(text) as unknown) : text;
}

const CONVERSIONS = new Map<number, (text: string) => unknown>([
  [16, (text) => text === 't'],
  [21, Number],
  [23, Number],
  [26, Number],
  [700, floatValue],
  [701, floatValue],
  [114, jsonValue],
  [3802, jsonValue],
  [1114, (text) => text.replace(' ', 'T')],
  [1184, isoTimestamp],
]);

function convertElement(element: ArrayElement, convert: (text: string) => unknown): unknown {
  if (element === null) return null;
  return typeof element === 'string' ? convert(element) : element.map((below) => convertElement(below, convert));
}

const asText = (text: string): unknown => text;

/**
 * A value as JSON, from the text Postgres sent. The session must print ISO dates in UTC, ISO 8601 intervals and hex
 * bytea. bigint, numeric and what is not a JSON number stay strings: nothing is rounded.
 */
export function toJsonValue(text: string | null, oid: number, type: ColumnType): unknown {
  if (text === null) return null;
  if (!type.element) return (CONVERSIONS.get(oid) ?? asText)(text);
  const convert = CONVERSIONS.get(type.element.oid) ?? asText;
  return parseArrayLiteral(text, type.element.delimiter).map((element) => convertElement(element, convert));
}

/** Names for the columns of a result in which no two are alike: `a`, `a_2`, `a_3`. */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  const seen = new Set<string>();
  return names.map((name) => {
    if (!seen.has(name)) {
      seen.add(name);
      return name;
    }
    let count = 2;
    while (taken.has(`${name}_${count}`)) count += 1;
    taken.add(`${name}_${count}`);
    return `${name}_${count}`;
  });
}

/** A JSON argument as the text Postgres reads a parameter from. Objects are JSON, arrays are Postgres arrays. */
export function toParameter(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return toArrayLiteral(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
