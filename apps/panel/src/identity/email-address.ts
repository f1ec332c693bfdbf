/** Form of an e-mail address in lower case. The database demands an `@` between texts without space as well. */
const EMAIL_ADDRESS = /^[^@\s]{1,64}@[^@\s]{1,189}$/;

/**
 * Returns an e-mail address in lower case; undefined for a text that is none. Of capital letters it knows A to Z: the lower case of others
 * may be another person's address, as the Kelvin sign becomes a `k`.
 */
export function parseEmail(text: string): string | undefined {
  const email = text.trim().replace(/[A-Z]/g, (capital) => capital.toLowerCase());
  return email === email.toLowerCase() && EMAIL_ADDRESS.test(email) ? email : undefined;
}
