import type { FormatName } from './formats/format.ts';

/** A model that an adapter offers to clients, served by the scripted upstream. */
export interface Model {
  id: string;
  /** The format that its upstream speaks. */
  format: FormatName;
  /** Number of routes. The second is tried when the first has failed. */
  routes: number;
  /** The upstream bills output that it does not show: the gateway should know it. */
  hidesOutput: boolean;
}

const model = (id: string, format: FormatName, { routes = 1, hidesOutput = false } = {}): Model => ({ id, format, routes, hidesOutput });

export const CHAT = model('kit-chat', 'chat');
const RESPONSES = model('kit-responses', 'responses');
const MESSAGES = model('kit-messages', 'messages');
export const HIDDEN = model('kit-hidden', 'chat', { hidesOutput: true });
export const TWO_ROUTES = model('kit-two-routes', 'chat', { routes: 2 });
/** Its prices change in one row. */
export const CHANGED = model('kit-changed', 'chat');

export const MODELS: readonly Model[] = [CHAT, RESPONSES, MESSAGES, HIDDEN, TWO_ROUTES, CHANGED];

/** The model whose upstream speaks a format. */
export const MODEL_BY_FORMAT: Record<FormatName, Model> = { chat: CHAT, responses: RESPONSES, messages: MESSAGES };

/** Base URL of a route, up to the part before `/chat/completions`, `/responses` or `/messages`. */
export function routeUrl(origin: string, { id }: Model, route: number): string {
  return `${origin}/${id}/${route}/v1`;
}
