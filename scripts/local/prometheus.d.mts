/** Returns the configuration of a Prometheus that scrapes the services at `opsUrls`, each as a job of its name. It is JSON, which is YAML. */
export function prometheusConfig(options: { opsUrls: Record<string, string>; rules: string; interval: string }): string;
