export type Tone = 'good' | 'warn' | 'bad' | 'neutral' | 'accent';

/** Number of a colour of `series.css`, a colour with a meaning such as `refused-1`, or `rest`. */
export type Colour = number | 'rest' | `${Meaning}-${number}`;
/** Outcomes whose colours say what happened. */
export type Meaning = 'good' | 'client' | 'refused' | 'upstream';
