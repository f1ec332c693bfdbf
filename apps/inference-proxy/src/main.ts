import { runService } from '#observability/run-service.js';

runService('inference-proxy', async () => ({
  Config: (await import('./inference-proxy.config.js')).InferenceProxyConfig,
  start: (await import('./start-inference-proxy.js')).startInferenceProxy,
}));
