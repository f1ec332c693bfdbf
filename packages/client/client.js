import createFetchClient from 'openapi-fetch';

export function createClient({ baseUrl, apiKey }) {
  return createFetchClient({ baseUrl: baseUrl.replace(/\/(v1\/?)?$/, ''), headers: { authorization: `Bearer ${apiKey}` } });
}
