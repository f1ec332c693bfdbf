import { type JsonSchema, list, name } from '../json-schema/json-schema.js';
import { invalidField, type JsonObject, readArray } from './body-fields.js';

/** Stop sequences of one request. */
const STOP_SEQUENCES_MAX = 4;
/** Characters of a stop sequence. Up to this much of a reply is buffered while a sequence may follow. */
const STOP_SEQUENCE_LENGTH_MAX = 1_024;

export const stopSequence: JsonSchema = { ...name, maxLength: STOP_SEQUENCE_LENGTH_MAX };
export const stopSequences: JsonSchema = { ...list(stopSequence), maxItems: STOP_SEQUENCES_MAX };

/** Parses an array of stop sequences: `stop` of chat, `stop_sequences` of messages. Returns undefined for none. */
export function parseStopSequences(source: JsonObject, field: string): string[] | undefined {
  const sequences = readArray(source, field, '');
  if (sequences.length > STOP_SEQUENCES_MAX) throw invalidField(field, `must have at most ${STOP_SEQUENCES_MAX} sequences`);
  if (sequences.length === 0) return undefined;
  return sequences.map((sequence, index) => parseStopSequence(sequence, `${field}[${index}]`));
}

export function parseStopSequence(sequence: unknown, path: string): string {
  if (typeof sequence !== 'string') throw invalidField(path, 'must be a string');
  if (sequence === '') throw invalidField(path, 'must not be empty');
  if (isLonger(sequence, STOP_SEQUENCE_LENGTH_MAX)) {
    throw invalidField(path, `must have at most ${STOP_SEQUENCE_LENGTH_MAX} characters`);
  }
  return sequence;
}

/** Compares whole characters, as JSON Schema counts them: some take two UTF-16 code units. */
function isLonger(text: string, charactersMax: number): boolean {
  return text.length > 2 * charactersMax || (text.length > charactersMax && [...text].length > charactersMax);
}
