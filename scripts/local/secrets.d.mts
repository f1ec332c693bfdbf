/** Users of config/nats.conf. */
export const NATS_USERS: readonly string[];
/** Variable of a user's secret, such as `NATS_INFERENCE_PROXY_PASSWORD`. */
export function natsVariable(user: string, secret: 'SEED' | 'PASSWORD'): string;
