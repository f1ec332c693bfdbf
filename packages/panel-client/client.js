import createFetchClient from 'openapi-fetch';

export function createPanelClient({ baseUrl, token }) {
  return createFetchClient({ baseUrl: baseUrl.replace(/\/$/, ''), headers: { authorization: `Bearer ${token}` } });
}
