import type { Filters } from '../../data/filters.js';

/** The filters of the dialog that are set, in words, and the change that takes each away. */
export function describeChosen({ user, tag, costMin, costMax, tookMin, tookMax }: Filters): { text: string; without: Partial<Filters> }[] {
  const span = (name: string, least: string | undefined, most: string | undefined): string =>
    least && most ? `${name} ${least} to ${most}` : least ? `${name} from ${least}` : `${name} up to ${most}`;
  const dollars = (text: string | undefined) => text && `$${text}`;
  const seconds = (text: string | undefined) => text && `${text} s`;
  return [
    ...(user ? [{ text: `User ${user}`, without: { user: undefined } }] : []),
    ...(tag ? [{ text: `Tag ${tag}`, without: { tag: undefined } }] : []),
    ...(costMin || costMax
      ? [{ text: span('Cost', dollars(costMin), dollars(costMax)), without: { costMin: undefined, costMax: undefined } }]
      : []),
    ...(tookMin || tookMax
      ? [{ text: span('Took', seconds(tookMin), seconds(tookMax)), without: { tookMin: undefined, tookMax: undefined } }]
      : []),
  ];
}
