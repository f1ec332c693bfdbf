import type { Client } from 'openapi-fetch';
import type { components, paths } from './schema.js';

/** A client of the paths of the panel's API, with a token of a person or a program. `baseUrl` is the panel's origin. */
export function createPanelClient(options: { baseUrl: string; token: string }): Client<paths>;

/** Types of requests and replies by their names in the API's description. */
export type Schemas = components['schemas'];
