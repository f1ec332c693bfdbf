import { describeUpstreamAdapter } from '../conformance.js';
import { openaiChat } from './adapter.js';

describeUpstreamAdapter(openaiChat, new URL('./__fixtures__/', import.meta.url));
