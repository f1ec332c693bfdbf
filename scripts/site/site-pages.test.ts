import { expandSidebar, SIDEBAR } from '../../site/sidebar.ts';
import { GENERATED_PAGES, writtenPages } from './site-pages.ts';

test('every page is in the sidebar exactly once, and the sidebar has no other', () => {
  const pages = [...writtenPages().keys(), ...GENERATED_PAGES].filter((page) => page !== 'index');
  const listed = expandSidebar(pages).flatMap((group) => group.pages);
  expect(listed.sort()).toEqual(pages.sort());
});

test('a pattern of the sidebar stands for the pages of its folder that no other entry names', () => {
  const sidebar = [{ title: 'Guide', pages: ['use-with/README', 'use-with/*'] }];
  expect(expandSidebar(['use-with/pi', 'use-with/README', 'use-with/cline', 'api'], sidebar)).toEqual([
    { title: 'Guide', pages: ['use-with/README', 'use-with/cline', 'use-with/pi'] },
  ]);
  expect(SIDEBAR.length).toBeGreaterThan(5);
});
