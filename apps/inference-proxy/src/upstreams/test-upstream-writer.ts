import { collectCompletion, CompletionCollector } from '#inference/collect-completion.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { UpstreamAdapter } from './upstream-adapter.js';
