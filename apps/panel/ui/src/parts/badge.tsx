import type { ReactNode } from 'react';
import type { ListedEnding } from '../../../src/shapes/requests.js';
import { REASONS, type Tone } from '../data/outcomes.js';
import styles from './badge.module.css';
import { classNames } from './class-names.js';

/** A state in a word. The dot repeats the colour; the word carries the meaning. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={classNames(styles.badge, styles[tone])}>{children}</span>;
}

export function ReasonBadge({ reason }: { reason: ListedEnding | null }) {
  if (!reason) return <Badge tone="accent">Running</Badge>;
  const { name, tone } = REASONS[reason];
  return <Badge tone={tone}>{name}</Badge>;
}
