/** Returns the key of a service or component in the values: `inferenceProxy` for `inference-proxy`. */
export function camelCase(name: string): string;
