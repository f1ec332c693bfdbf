import { describeUpstreamAdapter } from '../conformance.js';
import { anthropicMessages } from './adapter.js';

describeUpstreamAdapter(anthropicMessages, new URL('./__fixtures__/', import.meta.url));
