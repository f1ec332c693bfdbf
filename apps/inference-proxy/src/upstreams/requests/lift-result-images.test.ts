import { liftResultImages } from './lift-result-images.js';

const PIXEL = { type: 'image' as const, mediaType: 'image/png' as const, base64: 'iVBORw0KGgo=' };
const t = (value: string) => ({ type: 'text' as const, text: value });

test('images of results follow the run as one user turn, under the id that the upstream knows [T-10, T-11, T-12]', () => {
  const results = [
    { callId: 'a', parts: [t('21 °C')] },
    { callId: 'b', parts: [PIXEL] },
    { callId: 'c', parts: [t('seen'), PIXEL], isError: true },
  ];
  expect(liftResultImages([{ role: 'tool', results }], (callId) => `<${callId}>`)).toEqual([
    {
      role: 'tool',
      results: [
        { callId: 'a', parts: [t('21 °C')] },
        { callId: 'b', parts: [t('The result is the image below.')] },
        { callId: 'c', parts: [t('seen')], isError: true },
      ],
    },
    { role: 'user', parts: [t('Image from tool call <b>:'), PIXEL, t('Image from tool call <c>:'), PIXEL] },
  ]);
});
