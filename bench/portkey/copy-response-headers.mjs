/**
 * Loaded into Portkey's gateway before it starts. For streams it appends headers to the upstream's reply, whose headers are read-only in
 * Node's `fetch`, so that every stream would end with a 500. This copies the headers.
 */
const fetchReadOnly = globalThis.fetch;

/** @type {typeof fetch} */
const fetchCopyable = async (request, options) => {
  const response = await fetchReadOnly(request, options);
  Object.defineProperty(response, 'headers', { value: new Headers(response.headers) });
  return response;
};

globalThis.fetch = fetchCopyable;
