import { join } from 'node:path';
import { describeUpstreamAdapter } from '../../../test/conformance.js';
import { describeDamagedReplies } from '../../../test/conformance-damage.js';
import { describeAnyRequest } from '../../../test/conformance-requests.js';
import { openaiResponses } from './adapter.js';

const fixtures = join(import.meta.dirname, '__fixtures__');

describeUpstreamAdapter(openaiResponses, fixtures);
describeDamagedReplies(openaiResponses, fixtures);
describeAnyRequest(openaiResponses);
