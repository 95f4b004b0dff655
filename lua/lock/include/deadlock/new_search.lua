-- new_search(request): a search for the owners that wait for the owner of a request, directly or through others.
-- `found`: the wait by which each owner was found first; `todo`: all by number, visited up to `at`, and the last one up
-- to `cursor`; `scans`: lines that are still to be read; `from`: by resource, the place behind which all waiters are
-- known; `behind`: whether somebody waits behind the request's own place.
local function new_search(request)
  return { todo = { { owner = request.owner, depth = 0 } }, count = 1, at = 1, scans = {}, found = {}, from = {},
    wants = {}, entries = {}, loaded = 0, rooms = {} }
end
