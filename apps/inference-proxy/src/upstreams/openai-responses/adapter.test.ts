import { describeUpstreamAdapter } from '../conformance.js';
import { describeDamagedReplies } from '../conformance-damage.js';
import { describeAnyRequest } from '../conformance-requests.js';
import { openaiResponses } from './adapter.js';

const fixtures = new URL('./__fixtures__/', import.meta.url);

describeUpstreamAdapter(openaiResponses, fixtures);
describeDamagedReplies(openaiResponses, fixtures);
describeAnyRequest(openaiResponses);
