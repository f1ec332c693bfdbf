/** Breaking differences that are meant, with what users are told about them. */
export interface Accepted {
  /** Words of the paragraph under "Action required" that says what to do. */
  entry?: string;
  /** The reason why nobody has to do anything. */
  reason?: string;
  differences: string[];
}

/** Returns one line for each fault: a difference that nobody announced, or an acceptance without its difference or its words. */
export function judgeDifferences(differences: string[], accepted: Accepted[], changelog: string): string[] {
  const listed = accepted.flatMap((one) => one.differences);
  const required = actionRequired(changelog);
  return [
    ...differences.filter((one) => !listed.includes(one)).map((one) => `not announced: ${one}`),
    ...listed.filter((one) => !differences.includes(one)).map((one) => `accepted, but no difference: ${one}`),
    ...accepted
      .filter(({ entry, reason }) => (entry === undefined) === (reason === undefined))
      .map(({ differences: [first] }) => `needs either an entry or a reason: ${first}`),
    ...accepted.flatMap(({ entry }) =>
      entry === undefined || required.includes(oneLine(entry)) ? [] : [`"Action required" does not say: ${entry}`],
    ),
  ];
}

/** The text under "Action required" of the section of the next release, in one line. */
function actionRequired(changelog: string): string {
  const [, section = ''] = /^## Unreleased\n([\s\S]*?)(?=^## )/m.exec(`${changelog}\n## `) ?? [];
  const [, required = ''] = /^\*\*Action required\*\*\n([\s\S]*?)(?=^\*\*)/m.exec(`${section}\n**`) ?? [];
  return oneLine(required);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
