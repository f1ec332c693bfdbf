import { useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { withQuery } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { Page } from '../../parts/page.js';
import { Segments } from '../../parts/segments.js';
import { CatalogEditor, type Draft } from './catalog-editor.js';
import { ModelList } from './model-list.js';
import { Revisions } from './revisions.js';
import { ScheduledPriceList } from './scheduled-price-list.js';

const TABS = [
  { value: '', label: 'Models' },
  { value: 'scheduled', label: 'Scheduled' },
  { value: 'file', label: 'File' },
  { value: 'history', label: 'History' },
];

/** Models and prices. Operators also see and change the catalog file, its history and the scheduled prices. */
export function Models() {
  const { mayOnPlatform } = useSession();
  const [path] = useLocation();
  const isOperator = mayOnPlatform('catalog.read');
  const named = new URLSearchParams(useSearch()).get('tab');
  const tab = isOperator && TABS.some(({ value }) => value === named) ? named : '';
  // Here, so that a look at another tab keeps it.
  const [draft, setDraft] = useState<Draft>();
  return (
    <Page
      title="Models"
      about="Prices are USD per million tokens. A request keeps the prices of its start."
      actions={
        isOperator && <Segments label="Catalog" options={TABS} value={tab ?? ''} linkTo={(value) => withQuery(path, { tab: value })} />
      }
    >
      {tab === '' && <ModelList />}
      {tab === 'scheduled' && <ScheduledPriceList />}
      {tab === 'file' && <CatalogEditor draft={draft} onDraft={setDraft} />}
      {tab === 'history' && <Revisions />}
    </Page>
  );
}
