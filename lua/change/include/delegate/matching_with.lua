-- matching_with(ctx, list, field, text): which of these delegations of a person want no words in a field, or one of this text: their places in
-- the list → true; nil for none. It goes through the words of the change, not through the delegations: of a thousand, few want one of them.
local function matching_with(ctx, list, field, text)
  local wanted, matching, found = wanted_words(ctx, list, field), {}, nil
  ctx.words[text] = ctx.words[text] or words_of(',' .. text)
  for _, word in ipairs(ctx.words[text]) do  -- at most 33: resources, and ''
    local places = wanted[word]
    if places then
      for _, at in ipairs(places) do matching[at] = true end  -- at most 16: delegations of a person
      found, ctx.looked = matching, ctx.looked + #places
    end
  end
  ctx.looked = ctx.looked + 2 * #ctx.words[text]
  return found
end
