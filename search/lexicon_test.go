package search

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/proxy-dispatch/proxy-dispatch/search/lexicon"
)

func office() []Doc {
	return []Doc{
		{ID: "git/merge_pull_request", Server: "git", Name: "merge_pull_request", Description: "Merge a pull request."},
		{ID: "git/delete_branch", Server: "git", Name: "delete_branch", Description: "Delete a branch."},
		{ID: "git/create_branch", Server: "git", Name: "create_branch", Description: "Create a branch."},
		{ID: "disk/delete_file", Server: "disk", Name: "delete_file", Description: "Delete a file."},
		{ID: "disk/read_file", Server: "disk", Name: "read_file", Description: "Read a file."},
		{ID: "mail/send_email", Server: "mail", Name: "send_email", Description: "Send an email."},
		{ID: "shop/create_refund", Server: "shop", Name: "create_refund", Description: "Refund a payment."},
		{ID: "web/take_screenshot", Server: "web", Name: "take_screenshot", Description: "Take a screenshot of the page."},
		{ID: "zh/查找合同", Server: "zh", Name: "查找合同", Description: "查找合同。"},
	}
}

// Words of the lexicon lead to names that share no word with them.
func TestOtherWords(t *testing.T) {
	x := mustBuild(t, office())
	for query, want := range map[string]string{
		"erase a branch":    "git/delete_branch",
		"merge PR":          "git/merge_pull_request",
		"accept MRs":        "git/merge_pull_request",
		"give money back":   "shop/create_refund",
		"picture of page":   "web/take_screenshot",
		"删除文件":              "disk/delete_file",
		"请帮我删除这个分支":         "git/delete_branch",
		"ファイルを削除":           "disk/delete_file",
		"メールを送信してください":      "mail/send_email",
		"удалить ветку":     "git/delete_branch",
		"отправить письмо":  "mail/send_email",
		"احذف الملف":        "disk/delete_file",
		"查找合同":              "zh/查找合同",
		"合同":                "zh/查找合同",
		"delete 文件":         "disk/delete_file",
		"eliminar rama":     "git/delete_branch",
		"löschen Datei":     "disk/delete_file",
		"supprimer fichier": "disk/delete_file",
		"excluir arquivo":   "disk/delete_file",
		"elimina il file":   "disk/delete_file",
		"फ़ाइल हटाएं":       "disk/delete_file",
	} {
		t.Run(query, func(t *testing.T) {
			if code := foreign(query); code != "" {
				if lang, err := sharedLexicon().language(code); lang == nil || err != nil {
					t.Skipf("no lexicon of %s: %v", code, err)
				}
			}
			r := find(t, x, query)
			if len(r.Hits) == 0 || r.Hits[0].ID != want {
				t.Errorf("got %v, want %s first", ids(r), want)
			}
		})
	}
}

func foreign(query string) string {
	for word, code := range map[string]string{"rama": "es", "Datei": "de", "fichier": "fr", "arquivo": "pt", "elimina ": "it", "फ़ाइल": "hi", "احذف": "ar"} {
		if strings.Contains(query, word) {
			return code
		}
	}
	return ""
}

// What the catalog says itself counts more than what means the same.
func TestOwnWordsFirst(t *testing.T) {
	x := mustBuild(t, []Doc{
		{ID: "1", Server: "s", Name: "remove_label", Description: "Remove a label."},
		{ID: "2", Server: "s", Name: "delete_label", Description: "Delete a label."},
	})
	for query, want := range map[string]string{"remove label": "1", "delete label": "2"} {
		if got := ids(find(t, x, query)); got[0] != want {
			t.Errorf("%s: got %v", query, got)
		}
	}
}

func TestOwnLexicon(t *testing.T) {
	own := []lexicon.Entry{{Head: "pigeon", Words: []string{"send email"}}, {Head: "delete", Words: []string{"vaporize"}}}
	x, err := Options{Lexicon: NewLexicon(own...)}.Build(office())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	for query, want := range map[string]string{"pigeon": "mail/send_email", "vaporize file": "disk/delete_file"} {
		if got := ids(find(t, x, query)); len(got) == 0 || got[0] != want {
			t.Errorf("%s: got %v, want %s", query, got, want)
		}
	}
	if got := ids(find(t, mustBuild(t, office()), "pigeon")); len(got) > 0 {
		t.Errorf("the own words of one index are another's: %v", got)
	}
}

func TestWithout(t *testing.T) {
	if _, err := (Options{Without: []string{"sense"}}).Build(nil); err == nil || !strings.Contains(err.Error(), "lexicon") {
		t.Errorf("got %v, want the parts named", err)
	}
	for _, part := range Parts() {
		x, err := Options{Without: []string{part}}.Build(office())
		if err != nil {
			t.Fatal(err)
		}
		if r := find(t, x, "delete_file"); len(r.Hits) == 0 || r.Hits[0].ID != "disk/delete_file" {
			t.Errorf("without %s an exact name gives %v", part, ids(r))
		}
		x.Close()
	}
	x, err := Options{Without: []string{"lexicon"}}.Build(office())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if r := find(t, x, "erase"); len(r.Hits) > 0 {
		t.Errorf("without lexicon: got %v", ids(r))
	}
}

func TestSegment(t *testing.T) {
	x := mustBuild(t, nil)
	for text, want := range map[string]string{
		"删除文件":   "删除 文件",
		"请删除文件":  "(请) 删除 文件",
		"拉取请求":   "拉取请求",
		"龘靐齉文件":  "龘靐 靐齉 文件",
		"ファイル削除": "ファイル 削除",
	} {
		l := &lookup{errand: &errand{x: x}, stems: newStemmer()}
		tokens, err := l.segment(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tok := range tokens {
			if tok.stop {
				tok.word = "(" + tok.word + ")"
			}
			got = append(got, tok.word)
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s: -want +got\n%s", text, diff)
		}
	}
}

func TestSentence(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"short", "list 'foo' Bar", "..."},
		{"quoted", "delete the project named 'old web shop' at once", "....===.."},
		{"names", "find flights to Boston from New York. Then book one", "...^.^^..."},
		{"addresses", "send the report at https://x.example/a to ann@x.example please now", "....=.=.."},
		{"identifier", "show me the order with number a1b2c3d4e5 again", "......=."},
		{"title case", "Find The Best Tool For This Job", "......."},
		{"open quote", "tell 'em that the build is broken", "......."},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got strings.Builder
			for _, f := range sentence(strings.Fields(tc.text)) {
				got.WriteByte(".=^"[f])
			}
			if got.String() != tc.want {
				t.Errorf("got %s, want %s", got.String(), tc.want)
			}
		})
	}
}

func FuzzAsk(f *testing.F) {
	x := mustBuild(f, office())
	for _, q := range []string{"erase; merge PR and tell Bob", "删除ファイル", "löschen Dateien", "'a b c d e f", "удалить", "फ़ाइल", ";;;", "and then send it, please"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		r := find(t, x, q)
		if r.Total < len(r.Hits) || r.Total > len(x.docs) {
			t.Errorf("%d hits of %d", len(r.Hits), r.Total)
		}
		seen := map[string]bool{}
		for i, h := range r.Hits {
			if seen[h.ID] || h.Score <= 0 || i > 0 && h.Score > r.Hits[i-1].Score {
				t.Errorf("hit %d of %v", i, r.Hits)
			}
			seen[h.ID] = true
		}
	})
}
