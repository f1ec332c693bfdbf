// Forms of the ids that name a request. Imports nothing: browsers load it.

/** The form that is expected, for the error about an id of none of them. */
export const REQUEST_ID_FORMS =
  'Give the id of a request (req_…), of its reply (chatcmpl-…, resp_… or msg_…), of its hold, or of its trace.' as const;

/** A reply has the digits of its request. Ids of other makers have none of these forms. */
const FORM = /^(req_|chatcmpl-|resp_|msg_)?([0-9a-f]{32})$/;
const UUID = /([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{4})-([0-9a-f]{12})$/;

export interface RequestName {
  /** `req_` and 32 digits. */
  requestId: string;
  /** The digits without a prefix, as a UUID: they may be those of a hold or a trace. Null: the prefix says that they are not. */
  uuid: string | null;
}

/** Parses any id that names a request: its own, that of its reply, bare digits. Undefined for other texts. */
export function parseRequestName(text: string): RequestName | undefined {
  const typed = text.trim().toLowerCase();
  const [, prefix, digits] = FORM.exec(typed.replace(UUID, '$1$2$3$4$5')) ?? [];
  if (digits === undefined) return undefined;
  return { requestId: `req_${digits}`, uuid: prefix === undefined ? digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-') : null };
}

/** An id with its prefix, among other text such as a line of a log. */
const PREFIXED = /(?<![0-9a-z_-])(?:req_|chatcmpl-|resp_|msg_)[0-9a-f]{32}(?![0-9a-z])/i;

/** Returns the id of a text that is one, or the first id with its prefix in a line of a log. Undefined: it has none. */
export function findRequestName(text: string): string | undefined {
  return parseRequestName(text) ? text.trim() : PREFIXED.exec(text)?.[0];
}
