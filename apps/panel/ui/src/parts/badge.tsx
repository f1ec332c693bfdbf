import type { ReactNode } from 'react';
import type { Tone } from '../format/colours.js';
import styles from './badge.module.css';
import { classNames } from './class-names.js';

/** A state in a word. The dot repeats the colour; the word carries the meaning. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={classNames(styles.badge, styles[tone])}>{children}</span>;
}
