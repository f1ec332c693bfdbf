import { useMemo } from 'react';
import { Link } from 'wouter';
import type { AuditEntry } from '../../../../src/shapes/audit.js';
import { readSentence } from './sentence-parts.js';
import type { AuditNames } from './use-audit-words.js';

/** The sentence of an entry, without the actor, with links to the things that it names. */
export function Sentence({ entry, names: { words, href } }: { entry: AuditEntry; names: AuditNames }) {
  const parts = useMemo(() => readSentence(entry, words), [entry, words]);
  let at = 0;
  return parts.map(({ text, thing }) => {
    const to = thing && href(thing, entry.accountId);
    const key = at++;
    return to ? (
      <Link key={key} to={to}>
        {text}
      </Link>
    ) : (
      <span key={key}>{text}</span>
    );
  });
}
