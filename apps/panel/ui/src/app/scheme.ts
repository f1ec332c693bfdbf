export const SCHEMES = { system: 'Match system', light: 'Light', dark: 'Dark' } as const;
export type Scheme = keyof typeof SCHEMES;

const STORAGE_KEY = 'tollgate-scheme';

export function chosenScheme(): Scheme {
  const stored = localStorage.getItem(STORAGE_KEY);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

/** Applies the scheme and remembers it in this browser. */
export function chooseScheme(scheme: Scheme): void {
  if (scheme === 'system') localStorage.removeItem(STORAGE_KEY);
  else localStorage.setItem(STORAGE_KEY, scheme);
  applyScheme();
}

export function applyScheme(): void {
  const scheme = chosenScheme();
  if (scheme === 'system') delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme;
}
