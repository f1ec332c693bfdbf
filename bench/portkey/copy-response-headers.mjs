/**
 * Loaded into Portkey's gateway before it starts. On a streamed reply it appends its own headers to those of the upstream's
 * reply, which `fetch` hands out read-only: on Node that throws and every stream ends as a 500. A copy can be appended to.
 */
const fetchReadOnly = globalThis.fetch;

/** @type {typeof fetch} */
const fetchCopyable = async (request, options) => {
  const response = await fetchReadOnly(request, options);
  Object.defineProperty(response, 'headers', { value: new Headers(response.headers) });
  return response;
};

globalThis.fetch = fetchCopyable;
