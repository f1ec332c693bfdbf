/** The names by which browsers call themselves, the particular ones first: all of them also claim to be another. */
const BROWSERS: readonly (readonly [name: string, sign: RegExp])[] = [
  ['Edge', /Edg(?:A|iOS)?\//],
  ['Opera', /OPR\//],
  ['Samsung Internet', /SamsungBrowser\//],
  ['Firefox', /(?:Firefox|FxiOS)\//],
  ['Chrome', /(?:Chrome|Chromium|CriOS|HeadlessChrome)\//],
  ['Safari', /Safari\//],
];
const SYSTEMS: readonly (readonly [name: string, sign: RegExp])[] = [
  ['iPhone', /iPhone/],
  ['iPad', /iPad/],
  ['Android', /Android/],
  ['Windows', /Windows/],
  ['macOS', /Macintosh/],
  ['ChromeOS', /CrOS/],
  ['Linux', /Linux|X11/],
];

/** Returns the browser and the system of a session: `Firefox on Linux`. A program has the name that it gives itself. */
export function nameBrowser(userAgent: string | null): string {
  if (!userAgent) return 'Unknown';
  const find = (names: typeof BROWSERS): string | undefined => names.find(([, sign]) => sign.test(userAgent))?.[0];
  const [browser, system] = [find(BROWSERS), find(SYSTEMS)];
  if (browser === undefined) return userAgent;
  return system === undefined ? browser : `${browser} on ${system}`;
}
