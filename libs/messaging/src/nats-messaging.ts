import type { Messaging } from './messaging.js';

/** The one implementation of `Messaging`; made by `connectMessaging`. */
export type NatsMessaging = Messaging;
