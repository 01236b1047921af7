import { ActionIcon, Menu } from '@mantine/core';
import { memo, type ReactNode, useEffect } from 'react';
import { BASE_PATH } from '../data/base-path.ts';
import type { ApiRequest } from '../data/curl.ts';
import { useCopyCurl } from './copy.tsx';
import { Icon } from './icons.tsx';
import { useLatestHandler } from './use-latest-handler.ts';
import classes from './screen.module.css';

type Props = {
  title: string;
  /** In the place of the title in the page, with marks or links. */
  heading?: ReactNode;
  /** Where this is part of. */
  above?: ReactNode;
  /** One line that says what is shown. */
  summary?: ReactNode;
  actions?: ReactNode;
  /** Filters and views. */
  toolbar?: ReactNode;
  /** The request that reads what is shown. */
  request?: ApiRequest;
  /** Whether the body scrolls as a whole. Screens with a table let the table scroll. */
  scrolls?: boolean;
  children: ReactNode;
};

export function Screen({
  title,
  heading,
  above,
  summary,
  actions,
  toolbar,
  request,
  scrolls,
  children,
}: Props): ReactNode {
  const copyCurl = useCopyCurl();
  const copyRequest = useLatestHandler(() => request !== undefined && copyCurl(request));
  useEffect(() => {
    document.title = `${title} · Quartermaster`;
  }, [title]);
  return (
    <main className={classes.screen} id="content" tabIndex={-1}>
      <header className={classes.header}>
        <div className="grow">
          {above !== undefined && <div className={classes.above}>{above}</div>}
          <h1 className={classes.title}>{heading ?? title}</h1>
        </div>
        <div className="row wraps">
          {actions}
          {request !== undefined && <MoreMenu copyRequest={copyRequest} />}
        </div>
        {summary !== undefined && <div className={classes.summary}>{summary}</div>}
      </header>
      {toolbar !== undefined && <div className={classes.toolbar}>{toolbar}</div>}
      <div
        className={classes.body}
        data-scrolls={scrolls}
        {...(scrolls === true && { tabIndex: 0, role: 'region', 'aria-label': title })}
      >
        {children}
      </div>
    </main>
  );
}

const MoreMenu = memo(function MoreMenu({ copyRequest }: { copyRequest: () => void }): ReactNode {
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label="More">
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={copyRequest}>Copy as curl</Menu.Item>
        <Menu.Item component="a" href={`${BASE_PATH}/docs`} target="_blank">
          API reference
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
});
