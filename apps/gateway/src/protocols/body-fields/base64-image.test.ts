import { GatewayError } from '#inference/errors.js';
import { IMAGE_BYTES_MAX, parseBase64Image, parseImageDataUrl } from './base64-image.js';

const PARAM = 'messages[0].content[0].image_url.url';

/** First bytes of an image of each kind. */
const KINDS = {
  'image/png': Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
  'image/jpeg': Buffer.from([0xff, 0xd8, 0xff, 0xe0]),
  'image/webp': Buffer.from('RIFF\x04\x00\x00\x00WEBP', 'latin1'),
  'image/gif': Buffer.from('GIF89a\x01\x00', 'latin1'),
};
const makePng = (length: number): string => Buffer.concat([KINDS['image/png']], length).toString('base64');

function refusal(parse: () => unknown): { code: string; status: number; param: string | undefined } | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    const { code, status, param } = error as GatewayError;
    expect(error).toBeInstanceOf(GatewayError);
    return { code, status, param };
  }
}

test('the limit applies to decoded bytes [error-too-large, limit-image-size, C-11, T-42]', () => {
  const largest = makePng(IMAGE_BYTES_MAX);
  expect(parseImageDataUrl(`data:image/png;base64,${largest}`, PARAM)).toEqual({ mediaType: 'image/png', base64: largest });
  const larger = makePng(IMAGE_BYTES_MAX + 1);
  expect(refusal(() => parseImageDataUrl(`data:image/png;base64,${larger}`, PARAM))).toEqual({
    code: 'request_too_large',
    status: 413,
    param: PARAM,
  });
});

test('white space is removed and does not count towards the limit [T-41, T-42]', () => {
  const largest = makePng(IMAGE_BYTES_MAX);
  const wrapped = largest.replace(/.{76}/g, '$&\r\n');
  expect(parseBase64Image('image/png', ` ${wrapped}\t`, PARAM)).toEqual({ mediaType: 'image/png', base64: largest });
});

test.each([
  ['IMAGE/PNG', 'image/png'],
  ['image/jpeg', 'image/jpeg'],
  ['image/jpg', 'image/jpeg'],
  ['image/webp', 'image/webp'],
  ['image/gif', 'image/gif'],
] as const)('media type %s [limit-image-kinds]', (given, mediaType) => {
  const base64 = KINDS[mediaType].toString('base64');
  expect(parseBase64Image(given, base64, PARAM)).toEqual({ mediaType, base64 });
});

test.each(Object.entries(KINDS))('%s under another label is sent as what it is', (mediaType, bytes) => {
  const base64 = bytes.toString('base64');
  const image = { mediaType, base64 };
  expect(Object.keys(KINDS).map((label) => parseImageDataUrl(`data:${label};base64,${base64}`, PARAM))).toEqual([
    image,
    image,
    image,
    image,
  ]);
});

test.each([
  ['text', 'plain text'],
  ['a BMP', 'BM\x1e\x00\x00\x00'],
  ['RIFF that is no WebP', 'RIFF\x04\x00\x00\x00WAVE'],
  ['half of a signature', '\x89PNG'],
])('%s labelled as an image is unsupported [limit-image-kinds]', (_what, bytes) => {
  const base64 = Buffer.from(bytes, 'latin1').toString('base64');
  expect(refusal(() => parseBase64Image('image/png', base64, PARAM))).toEqual({ code: 'unsupported_content', status: 400, param: PARAM });
});

test.each(['image/bmp', 'image/svg+xml', 'text/html', 'application/pdf', ''])(
  'media type %p is unsupported [limit-image-kinds]',
  (given) => {
    expect(refusal(() => parseBase64Image(given, makePng(8), PARAM))).toEqual({ code: 'unsupported_content', status: 400, param: PARAM });
  },
);

test.each([
  ['AAAA', 'AAAA'],
  ['AAA=', 'AAA='],
  ['AAA', 'AAA='],
  ['AA==', 'AA=='],
  ['AA', 'AA=='],
  ['+/+/', '+/+/'],
])('base64 that ends in %s is padded to %s', (given, padded) => {
  const nine = makePng(9);
  expect(parseBase64Image('image/png', nine + given, PARAM)).toEqual({ mediaType: 'image/png', base64: nine + padded });
});

test.each(['', '=', '==', 'A', 'AAAAA', 'AA===', 'A=AA', 'AA-_', 'AAA\u00e4', 'AAAA,AAAA'])('base64 %p is invalid', (given) => {
  expect(refusal(() => parseBase64Image('image/png', given, PARAM))).toEqual({ code: 'invalid_request', status: 400, param: PARAM });
});

test.each(['https://a.example/x.png', 'HTTP://a.example/x', ' https://a.example', 'file:///x', 'blob:x', 'gs://bucket/x'])(
  '%p is a link [inline-images, error-image-url]',
  (url) => {
    expect(refusal(() => parseImageDataUrl(url, PARAM))).toEqual({ code: 'image_url_not_supported', status: 400, param: PARAM });
  },
);

test.each([
  '',
  'x.png',
  '/9j/4AAQ',
  'data:',
  'data:image/png',
  'data:image/png;base64',
  'data:,',
  'data:image/png,AAAA',
  `data:${'x'.repeat(9_000_000)}`,
])('a string that is neither a link nor a base64 data URL is invalid (%#)', (url) => {
  expect(refusal(() => parseImageDataUrl(url, PARAM))).toEqual({ code: 'invalid_request', status: 400, param: PARAM });
});
