import type { Format } from './agent.js';
import { testAgent } from './test-agent.js';

const APIS: Record<Format, object> = { chat: {}, responses: { wireApi: 'responses' }, messages: {} };

await testAgent({
  ...{ name: 'Qwen Code', package: '@qwen-code/qwen-code', version: '0.24.4', command: 'qwen' },
  formats: ['chat', 'responses', 'messages'],
  configure: ({ format, gatewayUrl, apiKey, model, contextTokens, outputTokens }) => {
    const provider = format === 'messages' ? 'anthropic' : 'openai';
    const entry = {
      ...{ id: model, envKey: 'TOLLGATE_KEY', baseUrl: format === 'messages' ? gatewayUrl : `${gatewayUrl}/v1`, ...APIS[format] },
      generationConfig: { contextWindowSize: contextTokens, samplingParams: { max_tokens: outputTokens } },
    };
    const settings = {
      ...{ modelProviders: { [provider]: [entry] }, security: { auth: { selectedType: provider } }, model: { name: model } },
      ...{ memory: { enableManagedAutoMemory: false }, general: { enableAutoUpdate: false }, privacy: { usageStatisticsEnabled: false } },
    };
    return { files: { '.qwen/settings.json': JSON.stringify(settings) }, env: { TOLLGATE_KEY: apiKey } };
  },
  invoke: (prompt, _setup, continues) => ({ args: ['--approval-mode', 'yolo', ...(continues ? ['--continue'] : [])], input: prompt }),
  callToRead: (path) => `call read_file ${JSON.stringify({ file_path: path })}`,
  callToWrite: (path, content) => `call write_file ${JSON.stringify({ file_path: path, content })}`,
  // On Responses it compacts by `contextWindowSize` alone.
  onOverflow: (format) => (format === 'responses' ? { stopsWith: /context_length_exceeded/ } : 'compacts'),
});
