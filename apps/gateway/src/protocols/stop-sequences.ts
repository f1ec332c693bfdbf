import { invalidField, type JsonObject, readArray } from './body-fields.js';

/** Of a request, in the formats that have them (spec 8). */
export const STOP_SEQUENCES_MAX = 4;

/** `stop` of chat as an array, `stop_sequences` of messages; undefined for none. */
export function parseStopSequences(source: JsonObject, field: string): string[] | undefined {
  const sequences = readArray(source, field, '');
  if (sequences.length > STOP_SEQUENCES_MAX) throw invalidField(field, `must have at most ${STOP_SEQUENCES_MAX} sequences`);
  if (sequences.length === 0) return undefined;
  return sequences.map((sequence, index) => {
    if (typeof sequence !== 'string') throw invalidField(`${field}[${index}]`, 'must be a string');
    if (sequence === '') throw invalidField(`${field}[${index}]`, 'must not be empty');
    return sequence;
  });
}
