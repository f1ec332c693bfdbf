/** Product name and an optional second token that is not a version: `OpenAI/Python` of `OpenAI/Python 1.2.3`, `curl` of `curl/8.1`. */
const FAMILY = /^[^\s/(;,]+(?:\/[a-z][^\s/(;,]*)?/i;

/** Returns the name of the first program in a `user-agent` header, without its version. */
export function userAgentFamily(userAgent: string | undefined): string | undefined {
  return userAgent === undefined ? undefined : FAMILY.exec(userAgent)?.[0];
}
