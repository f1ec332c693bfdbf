import { runService } from '#observability/run-service.js';

runService('panel', async () => ({
  Config: (await import('./panel.config.js')).PanelConfig,
  start: (await import('./start-panel.js')).startPanel,
}));
