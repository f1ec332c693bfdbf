import { describeUpstreamAdapter } from '../conformance.js';
import { openaiResponses } from './adapter.js';

describeUpstreamAdapter(openaiResponses, new URL('./__fixtures__/', import.meta.url));
