-- index_task(ctx, by_index, id, own): note a new task for the indexes of its user, tags and parent.
-- EARLY
local function index_task(ctx, by_index, id, own)
  if own.user then line_up(by_index, by_user .. own.user, ctx.now_text, id) end
  if own.tags then
    local seen = {}
    for _, tag in ipairs(own.tags) do
      if not seen[tag] then line_up(by_index, by_tag .. tag, ctx.now_text, id) end
      seen[tag] = true
    end
  end
  if own.parent then line_up(by_index, children .. own.parent, ctx.now_text, id) end
end
