import { useQuery } from '@tanstack/react-query';
import { Outlet, useLocation, useMatches, useRouterState } from '@tanstack/react-router';
import { memo, type ReactNode, useEffect, useState } from 'react';
import { plural } from '../components/format.ts';
import { Icon } from '../components/icons.tsx';
import { PALETTE_KEY } from '../components/palette-key.ts';
import { RowLink } from '../components/row-link.tsx';
import { Screen } from '../components/screen.tsx';
import { Empty, Failed, Loading, MissingScope } from '../components/states.tsx';
import { BASE_PATH } from '../data/base-path.ts';
import { Toasts } from '../components/toasts.tsx';
import { invitationsOf, MeContext, meQuery, useMe } from '../data/me.ts';
import { holdsWithin } from '../data/rights.ts';
import { problemOf } from '../data/problem.ts';
import { signInUrl } from '../data/session.ts';
import { useUrlState } from '../data/url-state.ts';
import { Help } from './help.tsx';
import { NAVIGATION } from './navigation.ts';
import { Palette } from './palette.tsx';
import { SessionEnded } from './session-ended.tsx';
import classes from './shell.module.css';
import { TenantSwitcher, useTenantOutOfReach } from './tenant-switcher.tsx';
import { Terms } from './terms.tsx';
import { usePermittedNavigation } from './use-permitted-navigation.ts';
import { useShellKeys } from './use-shell-keys.ts';
import { UserMenu } from './user-menu.tsx';

/** Everything around the screens. It asks first who is signed in, because every screen needs to know. */
export function Shell(): ReactNode {
  const { data: me, error, refetch, isPending } = useQuery(meQuery());
  const problem = error === null ? null : problemOf(error);
  const isSignedOut = problem?.status === 401 && me === undefined;
  useEffect(() => {
    if (isSignedOut) window.location.assign(signInUrl());
  }, [isSignedOut]);
  if (me === undefined) {
    return (
      <main className={classes.alone}>
        {isPending || isSignedOut || problem === null ? (
          <Loading rows={4} />
        ) : (
          <Failed problem={problem} retry={() => void refetch()} />
        )}
      </main>
    );
  }
  return <MeContext value={me}>{me.termsAccepted ? <Frame /> : <Terms />}</MeContext>;
}

/** The screen, if the caller may read what it shows in the chosen tenant. */
function Permitted(): ReactNode {
  const me = useMe();
  const [{ tenant }] = useUrlState();
  // Not the address: it changes before the screen does.
  const path = useMatches({ select: (matches) => matches.at(-1)?.routeId });
  const foreign = useTenantOutOfReach();
  const entry = NAVIGATION.flatMap(({ entries }) => entries).find((each) => path?.startsWith(each.path));
  if (entry !== undefined && foreign !== null && me.places.length > 0) {
    return (
      <Screen title={entry.label}>
        <Empty title={`The tenant ${foreign} is out of your reach`}>
          You are not a member of it, or it does not exist. Choose another tenant above the list of screens.
        </Empty>
      </Screen>
    );
  }
  if (entry === undefined || holdsWithin(me, entry.scope, tenant)) return <Outlet />;
  return (
    <Screen title={entry.label}>
      {me.places.length === 0 && invitationsOf(me).length > 0 ? <Invited /> : <MissingScope scope={entry.scope} />}
    </Screen>
  );
}

/** The first thing that an invited person needs. */
function Invited(): ReactNode {
  const names = invitationsOf(useMe()).map(({ tenantId, tenantDisplayName }) => tenantDisplayName ?? tenantId);
  return (
    <Empty title={`You are invited to ${[...new Set(names)].join(', ')}`}>
      <p>Accept the invitation to see the tenant’s records.</p>
      <InvitationsLink>See your invitations</InvitationsLink>
    </Empty>
  );
}

function InvitationsLink({ children, className }: { children: ReactNode; className?: string | undefined }): ReactNode {
  return (
    <RowLink path="/profile" search={{ view: 'memberships' }} className={className}>
      {children}
    </RowLink>
  );
}

/** An invitation may be to one tenant more, so every screen shows it. */
function InvitationsNotice(): ReactNode {
  const count = invitationsOf(useMe()).length;
  if (count === 0) return null;
  return <InvitationsLink className={classes.notice}>{plural(count, 'invitation')} to accept</InvitationsLink>;
}

/** Memoised, because the address changes with each row that the user moves to. */
const NavigationLinks = memo(function NavigationLinks(): ReactNode {
  const current = useLocation({ select: ({ pathname }) => pathname.split('/')[1] });
  return usePermittedNavigation().map(({ title, entries }) => (
    <section key={title} className={classes.group}>
      <h2>{title}</h2>
      {entries.map(({ path, label, icon }) => (
        <RowLink
          key={path}
          path={path}
          className={classes.entry}
          aria-current={path === `/${current}` ? 'page' : undefined}
        >
          <Icon name={icon} />
          <span className={classes.label}>{label}</span>
        </RowLink>
      ))}
    </section>
  ));
});

/** How long the code of a screen may load before the page says so, in milliseconds. Most screens are there before that. */
const LOADING_LINE_DELAY_MS = 200;

/** The former screen stays while the code of the next one loads. */
function LoadingLine(): ReactNode {
  const isLoading = useRouterState({
    select: ({ isLoading, location, resolvedLocation }) =>
      isLoading && resolvedLocation !== undefined && location.pathname !== resolvedLocation.pathname,
  });
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    if (!isLoading) return;
    const timer = setTimeout(() => setShown(true), LOADING_LINE_DELAY_MS);
    return () => {
      clearTimeout(timer);
      setShown(false);
    };
  }, [isLoading]);
  return isShown && <div className={classes.loading} role="status" aria-label="Loading the screen" />;
}

const SCREENS_ID = 'screens';

function Frame(): ReactNode {
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  useShellKeys({ openPalette: () => setPaletteOpen(true), openHelp: () => setHelpOpen(true) });
  return (
    <div className={classes.frame}>
      <LoadingLine />
      <a href="#content" className={classes.skip}>
        Skip to content
      </a>
      <nav className={classes.nav} aria-label="Screens">
        {/* In a small window the screens are a menu. */}
        <button
          type="button"
          className={classes.menuButton}
          aria-expanded={isMenuOpen}
          aria-controls={SCREENS_ID}
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon name={isMenuOpen ? 'close' : 'menu'} size={20} />
          <span className="visually-hidden">Menu</span>
        </button>
        <div className={classes.brand}>
          <img src={`${BASE_PATH}/console/favicon.svg`} alt="" width="20" height="20" />
          Quartermaster
        </div>
        <TenantSwitcher />
        <button type="button" className={classes.search} onClick={() => setPaletteOpen(true)}>
          <Icon name="search" size={14} />
          <span className="grow">Go to or do</span>
          <kbd>{PALETTE_KEY}</kbd>
        </button>
        <div id={SCREENS_ID} className={classes.screens} data-open={isMenuOpen} onClick={() => setMenuOpen(false)}>
          <NavigationLinks />
        </div>
        <div className="grow" />
        <InvitationsNotice />
        <UserMenu openHelp={() => setHelpOpen(true)} />
      </nav>
      <Permitted />
      <Palette isOpen={isPaletteOpen} close={() => setPaletteOpen(false)} openHelp={() => setHelpOpen(true)} />
      <Help isOpen={isHelpOpen} close={() => setHelpOpen(false)} />
      <SessionEnded />
      <Toasts />
    </div>
  );
}
