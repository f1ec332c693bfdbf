import { type AuditWords, describeAudit } from '#contracts/rules/audit-sentences.js';
import type { AuditEntry } from '../../../../src/shapes/audit.js';

/** A text of a sentence, and the thing that it names. */
export interface SentencePart {
  text: string;
  thing?: { kind: string; id: string };
}

/** Stands around a thing. The journals cannot have it: Postgres stores no text with it. */
const MARK = '\0';

/** Returns the sentence of an entry, without the actor, cut at the things that it names. */
export function readSentence(entry: AuditEntry, words: Omit<AuditWords, 'link'>): SentencePart[] {
  const things: Required<SentencePart>[] = [];
  const link = (text: string, kind: string, id: string): string => {
    things.push({ text, thing: { kind, id } });
    return `${MARK}${things.length - 1}${MARK}`;
  };
  const parts = describeAudit(entry, { ...words, link }).split(MARK);
  return parts.map((text, at) => (at % 2 === 1 ? (things[Number(text)] as SentencePart) : { text })).filter(({ text }) => text !== '');
}
