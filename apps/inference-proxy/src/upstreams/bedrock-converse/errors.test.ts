import { makeCall } from '../../../test/conformance.js';
import { parseError } from './errors.js';

const refuse = (status: number, body: object, type?: string) => {
  const headers = type === undefined ? {} : { 'x-amzn-errortype': type };
  const { kind, code, refusal } = parseError({ status, headers, body: JSON.stringify(body) }, makeCall(true));
  return { kind, code, said: refusal?.upstreamCode };
};

test.each<[string, number, object, string | undefined, object]>([
  [
    'a wrong request, with an address behind its type',
    400,
    { message: 'The text field is blank.' },
    'ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/',
    { kind: 'rejected', code: 'invalid_request', said: 'ValidationException' },
  ],
  [
    'a type in the body, with its namespace',
    404,
    { __type: 'com.amazon.bedrock#ResourceNotFoundException', message: 'No.' },
    undefined,
    { kind: 'refused', code: 'model_unavailable', said: 'ResourceNotFoundException' },
  ],
  [
    'too many requests',
    429,
    { message: 'Too many tokens, please wait before trying again.' },
    'ThrottlingException',
    { kind: 'refused', code: 'model_capacity', said: 'ThrottlingException' },
  ],
  [
    'a model that is not ready',
    429,
    { message: 'Model is not ready for inference.' },
    'ModelNotReadyException',
    { kind: 'refused', code: 'model_capacity', said: 'ModelNotReadyException' },
  ],
  [
    'a missing right, whose text has a field of its own',
    403,
    { Message: 'User: arn:aws:iam::123456789012:user/x is not authorized to perform: bedrock:InvokeModel' },
    'AccessDeniedException',
    { kind: 'refused', code: 'upstream_error', said: 'AccessDeniedException' },
  ],
  [
    'a name that is no model',
    400,
    { message: 'The provided model identifier is invalid.' },
    'ValidationException',
    { kind: 'refused', code: 'model_unavailable', said: 'ValidationException' },
  ],
  [
    'a model that is only called by a profile',
    400,
    { message: 'Invocation of model ID meta.llama4 with on-demand throughput isn’t supported. Retry with an inference profile.' },
    'ValidationException',
    { kind: 'refused', code: 'model_unavailable', said: 'ValidationException' },
  ],
  [
    'a prompt that is too long',
    400,
    { message: 'Input is too long for requested model.' },
    'ValidationException',
    { kind: 'rejected', code: 'context_length_exceeded', said: 'ValidationException' },
  ],
  [
    'a model that takes too long',
    408,
    { message: 'Model has timed out in processing the request.' },
    'ModelTimeoutException',
    { kind: 'timeout', code: 'upstream_timeout', said: 'ModelTimeoutException' },
  ],
])('%s', (_what, status, body, type, expected) => {
  expect(refuse(status, body, type)).toEqual(expected);
});
