import type { Client } from 'openapi-fetch';
import type { components, paths } from './schema.js';

/** A client of the paths of Tollgate's HTTP API. `baseUrl` is the gateway's address, with or without `/v1`. */
export function createClient(options: { baseUrl: string; apiKey: string }): Client<paths>;

/** Types of requests and replies by their names in the API's description. */
export type Schemas = components['schemas'];
