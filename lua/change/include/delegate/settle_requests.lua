-- settle_requests(ctx, own, all): move the pending requests of a change to whom they belong now. all: as in resolve_requests.
local function settle_requests(ctx, own, all)
  keep_moves(ctx, own, resolve_requests(ctx, own, all), 'all')
end
