/** A name, and a second one that is no version: `OpenAI/Python` of `OpenAI/Python 1.2.3`, `curl` of `curl/8.1`. */
const FAMILY = /^[^\s/(;,]+(?:\/[a-z][^\s/(;,]*)?/i;

/** Returns the name of the program that a `user-agent` header begins with, without its version. */
export function userAgentFamily(userAgent: string | undefined): string | undefined {
  return userAgent === undefined ? undefined : FAMILY.exec(userAgent)?.[0];
}
