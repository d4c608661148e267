"""The content security policy in a real browser: every page under it, and what it forbids."""

from __future__ import annotations

import pytest

from atlas.ui.navigation import PAGES
from atlas.ui.security import policy
from tests.browser.conftest import Visitor

INJECT = """async () => {
  const refused = [];
  addEventListener('securitypolicyviolation', event => refused.push(event.effectiveDirective));
  window.ran = [];
  const inline = document.createElement('script');
  inline.textContent = "window.ran.push('inline script')";
  document.body.append(inline);
  const handler = document.createElement('div');
  handler.innerHTML = '<img src="data:," onerror="window.ran.push(\\'inline handler\\')">';
  document.body.append(handler);
  const coded = document.createElement('script');
  coded.src = "data:text/javascript,window.ran.push('data: script')";
  document.body.append(coded);
  // Later, since the browser's debugger may evaluate strings while it runs this function.
  setTimeout(() => {
    try { new Function("window.ran.push('eval')")(); } catch (error) { refused.push(error.name); }
  }, 100);
  const link = document.createElement('a');
  link.href = "javascript:window.ran.push('javascript: link')";
  document.body.append(link);
  link.click();
  for (const one of [inline, handler, coded, link]) setTimeout(() => one.remove(), 400);
  const picture = document.createElement('img');
  picture.src = 'http://192.0.2.1/secret.png';
  await fetch('http://192.0.2.1/').catch(() => {});
  try { new WebSocket('ws://192.0.2.1/'); } catch (error) { refused.push(error.name); }
  const frame = document.createElement('iframe');
  frame.src = 'http://192.0.2.1/';
  document.body.append(frame);
  await new Promise(done => setTimeout(done, 500));
  frame.remove();
  return {ran: window.ran, refused: [...new Set(refused)].sort()};
}"""


def test_every_page_lives_under_the_policy(visitor: Visitor) -> None:
    visit = visitor("")
    answer = visit.page.request.get(visit.page.url)
    assert answer.headers["content-security-policy"] == policy()
    assert answer.headers["x-content-type-options"] == "nosniff"
    for page in PAGES[1:]:
        visit.page.get_by_test_id("stSidebarNavLink").filter(has_text=page.title).click()
        visit.page.wait_for_url(f"**/{page.name}?*")
        visit.wait()
        assert visit.violations == [], page.name


def test_what_the_policy_forbids_does_not_happen(visitor: Visitor) -> None:
    visit = visitor("translate")
    found = visit.page.evaluate(INJECT)
    assert found["ran"] == []
    assert {"EvalError", "script-src-attr", "script-src-elem", "img-src", "connect-src", "frame-src"} <= set(
        found["refused"]
    )
    assert visit.violations
    visit.violations.clear()
    visit.outside.clear()  # asked for above, and refused before it left


@pytest.mark.parametrize("how", ["iframe", "object"])
def test_no_other_page_can_put_the_app_into_a_frame(visitor: Visitor, server: str, how: str) -> None:
    visit = visitor("translate")
    around = visit.page.context.new_page()
    address = f"{server}/translate"
    around.set_content(
        f'<iframe src="{address}"></iframe>'
        if how == "iframe"
        else f'<object data="{address}" type="text/html"></object>'
    )
    around.wait_for_timeout(1000)
    assert not any(frame.locator(".stApp").count() for frame in around.frames)
